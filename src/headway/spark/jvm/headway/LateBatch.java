package headway;

import java.io.Serializable;

/**
 * What a late row has to know of the batch that refused it: the watermark in microseconds, and what makes its file's name.
 * `branch` tells apart the places of a plan where one input is used.
 */
record LateBatch(String query, String queryId, String runId, long batch, int branch, long watermark) implements Serializable {}
