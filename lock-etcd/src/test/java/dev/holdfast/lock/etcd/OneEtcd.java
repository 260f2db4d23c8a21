package dev.holdfast.lock.etcd;

import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.GrantListener;
import java.io.IOException;
import java.util.Collection;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInstance;

/** For tests of backends on one etcd, which those of a class share; each test takes names of its own. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
public abstract class OneEtcd {
    private static final AtomicInteger NAMES = new AtomicInteger();

    public EtcdFixture fixture;

    @BeforeAll
    final void start() throws Exception {
        fixture = EtcdFixture.single();
    }

    @AfterAll
    final void stop() {
        fixture.close();
    }

    public static String newName() {
        return "name-" + NAMES.incrementAndGet();
    }

    /** How many calls of that method the server has had. */
    public final long calls(String method) throws IOException {
        return fixture.server().calls(method);
    }

    /** How many watches there are on the server. */
    public final long watches() throws IOException {
        return fixture.server().sum("etcd_debugging_mvcc_watcher_total", "");
    }

    public final void revoke(long lease) throws Exception {
        fixture.admin().getLeaseClient().revoke(lease).get(1, TimeUnit.MINUTES);
    }

    /** Notes which grants are reported lost. */
    public static GrantListener noting(Collection<Grant> lost) {
        return new GrantListener() {
            @Override
            public void suspect(Grant grant, String detail) {}

            @Override
            public void lost(Grant grant, LossReason reason, String detail) {
                lost.add(grant);
            }
        };
    }
}
