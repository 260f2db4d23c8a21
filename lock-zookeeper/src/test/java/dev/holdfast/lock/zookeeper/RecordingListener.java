package dev.holdfast.lock.zookeeper;

import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.GrantListener;
import dev.holdfast.lock.spi.LockBackend;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** Records what a backend reports about its grants. */
final class RecordingListener implements GrantListener {
    final List<Long> suspected = new CopyOnWriteArrayList<>();
    final List<String> lost = new CopyOnWriteArrayList<>();

    static RecordingListener of(LockBackend backend) {
        RecordingListener listener = new RecordingListener();
        backend.setGrantListener(listener);
        return listener;
    }

    @Override
    public void suspect(Grant grant, String detail) {
        suspected.add(grant.token());
    }

    @Override
    public void lost(Grant grant, LossReason reason, String detail) {
        lost.add(grant.token() + " " + reason);
    }
}
