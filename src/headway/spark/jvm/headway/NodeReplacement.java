package headway;

import scala.runtime.AbstractPartialFunction;

/** What is put in each node's place when a tree is walked: another node, or the same. */
abstract class NodeReplacement<T> extends AbstractPartialFunction<T, T> {
    abstract T replaced(T found);

    @Override
    public boolean isDefinedAt(T found) {
        return true;
    }

    @Override
    @SuppressWarnings("unchecked")
    public <A extends T, B> B applyOrElse(A found, scala.Function1<A, B> otherwise) {
        return (B) replaced(found);
    }
}
