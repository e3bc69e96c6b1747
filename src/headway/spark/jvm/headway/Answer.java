package headway;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * What sums over a sample say, with a bound.
 *
 * <p>A row that is taken with probability theta stands for u = 1 / theta rows. Of a window of which a share a was there, a row
 * is in the sample with probability theta a, and stands for w = u / a. The total of y is then sum(w y), with the variance
 * sum(w (w - 1) y^2) (Horvitz and Thompson), and the mean is the total of y by the total of ones.
 *
 * @param n rows of the sample; the others are sums over them, of products of u and y
 */
record Answer(long n, double u, double uu, double uy, double uyy, double uyyy, double uuy, double uuyy) {
    static final StructType TYPE = new StructType()
            .add("estimate", DataTypes.DoubleType)
            .add("lower", DataTypes.DoubleType)
            .add("upper", DataTypes.DoubleType)
            .add("sample", DataTypes.LongType, false)
            .add("seen", DataTypes.DoubleType, false)
            .add("sound", DataTypes.BooleanType, false);

    private static final int LEAST = 30; // rows, below which there is no talk of a normal curve
    private static final double COCHRAN = 25; // nor below so many squares of the skewness
    private static final double NOTHING = 1e-12;

    InternalRow mean(double seen, double z, double widest) {
        double mean = uy / u;
        double spread = (uuyy - 2 * mean * uuy + mean * mean * uu) - seen * (uyy - 2 * mean * uy + mean * mean * u);
        return row(mean, Math.sqrt(Math.max(0, spread)) / u, seen, z, widest);
    }

    /** `unsure` is by which share of it the part that was there may be off. */
    InternalRow total(double seen, double unsure, double z, double widest) {
        double total = uy / seen;
        double leftOut = Math.max(0, uuyy / (seen * seen) - uyy / seen);
        return row(total, Math.sqrt(leftOut + unsure * unsure * total * total), seen, z, widest);
    }

    private InternalRow row(double estimate, double sd, double seen, double z, double widest) {
        boolean exact = sd <= NOTHING * Math.abs(estimate);
        boolean sound = exact || n >= LEAST && n >= COCHRAN * skew() * skew();
        // Student's for few rows, by its first terms; Chebyshev's where no curve can be trusted.
        double student = z + (z * z * z + z) / (4 * Math.max(1, n - 1));
        double half = exact ? 0 : sd * (sound ? student : Math.max(student, widest));
        boolean none = n == 0;
        return new GenericInternalRow(new Object[] {
            none ? null : estimate, none ? null : estimate - half, none ? null : estimate + half, n, seen, sound && !none
        });
    }

    private double skew() {
        double mean = uy / u;
        double second = uyy / u - mean * mean;
        double third = uyyy / u - 3 * mean * uyy / u + 2 * mean * mean * mean;
        return second > NOTHING * mean * mean ? third / Math.pow(second, 1.5) : 0;
    }

    /** By how much the rank of a quantile may be off. */
    double rankOff(double share, double seen, double z) {
        double leftOut = Math.max(0, 1 - n * seen / u);
        return z * Math.sqrt(share * (1 - share) * leftOut / Math.max(1, n - 1));
    }

    boolean enough() {
        return n >= LEAST;
    }
}
