package dev.holdfast.lock.testkit;

import dev.holdfast.lock.ClientOptions;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.GrantListener;
import dev.holdfast.lock.spi.LockBackend;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.ClassOrderer;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.TestClassOrder;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Everything that a lock on any backend promises. A backend's test extends it:
 *
 * <pre>{@code
 * final class RedisStandaloneContractTest extends LockContract {
 *     @Override protected LockFixture startFixture() { return RedisServer.start()…; }
 * }
 * }</pre>
 *
 * <p>The groups named {@code Backend…} test the backend by itself, without the engine; get them green first. Each group's
 * tests are in the class of the same name in this package.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@TestClassOrder(ClassOrderer.OrderAnnotation.class)
@ExtendWith(ContractExtension.class)
public abstract class LockContract {
    private final Map<String, List<Need>> notApplicable = new TreeMap<>();
    private @Nullable LockFixture fixture;
    private @Nullable LockBackend firstBackend;
    private @Nullable LockBackend secondBackend;

    private final ReentrantLock clients = new ReentrantLock();
    private ClientGroup.@Nullable CountedClient firstClient;
    private ClientGroup.@Nullable CountedClient secondClient;

    /** For subclasses. */
    protected LockContract() {}

    /**
     * Starts the store. Called once for the class; the contract closes it.
     *
     * @return a running fixture
     * @throws Exception if it cannot be started, which fails the class
     */
    protected abstract LockFixture startFixture() throws Exception;

    final void start() throws Exception {
        fixture = startFixture();
        System.out.printf("fixture: %s%n", fixture.name()); // bin/verify reads it
        firstBackend = observed(fixture.newBackend());
        secondBackend = observed(fixture.newBackend());
    }

    final void stop() throws Exception {
        if (!notApplicable.isEmpty()) {
            System.out.printf(
                    "%s: %d tests of the contract do not apply:%n", fixture().name(), notApplicable.size());
            notApplicable.forEach((test, missing) -> System.out.printf("  - %s (needs %s)%n", test, missing));
        }
        closeAll(secondClient, firstClient, secondBackend, firstBackend, fixture);
    }

    private static void closeAll(@Nullable AutoCloseable... resources) throws Exception {
        Exception first = null;
        for (AutoCloseable resource : resources) {
            try {
                if (resource != null) {
                    resource.close();
                }
            } catch (Exception e) {
                if (first == null) {
                    first = e;
                } else {
                    first.addSuppressed(e);
                }
            }
        }
        if (first != null) {
            throw first;
        }
    }

    /** The options of clients in tests: patient, since the machine may be busy. */
    static ClientOptions.Builder clientOptions() {
        return ClientOptions.builder().who("contract").requestTimeout(Duration.ofSeconds(10));
    }

    /** Tells a backend that somebody listens, as the engine does before anything else. */
    static LockBackend observed(LockBackend backend) {
        backend.setGrantListener(new GrantListener() {
            @Override
            public void suspect(Grant grant, String detail) {}

            @Override
            public void lost(Grant grant, LossReason reason, String detail) {}
        });
        return backend;
    }

    final LockFixture fixture() {
        return started(fixture);
    }

    final LockBackend firstBackend() {
        return started(firstBackend);
    }

    final LockBackend secondBackend() {
        return started(secondBackend);
    }

    final ClientGroup.CountedClient firstClient() {
        clients.lock(); // the threads of a test may all ask first
        try {
            if (firstClient == null) {
                firstClient = openClient();
            }
            return firstClient;
        } finally {
            clients.unlock();
        }
    }

    final ClientGroup.CountedClient secondClient() {
        clients.lock();
        try {
            if (secondClient == null) {
                secondClient = openClient();
            }
            return secondClient;
        } finally {
            clients.unlock();
        }
    }

    private ClientGroup.CountedClient openClient() {
        return ClientGroup.CountedClient.open(fixture(), clientOptions().build());
    }

    private static <T> T started(@Nullable T part) {
        if (part == null) {
            throw new IllegalStateException("the fixture is not started");
        }
        return part;
    }

    final boolean meets(Need need) {
        return need.metBy(fixture(), firstBackend().info());
    }

    final void notApplicable(String test, List<Need> missing) {
        notApplicable.put(test, missing);
    }

    /** See {@link BackendAttemptsContract}. */
    @Nested
    @Order(1)
    @DisplayName("A backend's attempt")
    class BackendAttempts extends BackendAttemptsContract {
        BackendAttempts() {
            super(LockContract.this);
        }
    }

    /** See {@link BackendTokensContract}. */
    @Nested
    @Order(2)
    @DisplayName("A backend's fencing token")
    class BackendTokens extends BackendTokensContract {
        BackendTokens() {
            super(LockContract.this);
        }
    }

    /** See {@link BackendReleasesContract}. */
    @Nested
    @Order(3)
    @DisplayName("A backend's release")
    class BackendReleases extends BackendReleasesContract {
        BackendReleases() {
            super(LockContract.this);
        }
    }

    /** See {@link BackendRenewalsContract}. */
    @Nested
    @Order(4)
    @DisplayName("A backend's renewal")
    class BackendRenewals extends BackendRenewalsContract {
        BackendRenewals() {
            super(LockContract.this);
        }
    }

    /** See {@link BackendAbandonmentsContract}. */
    @Nested
    @Order(5)
    @DisplayName("A backend's abandonment")
    class BackendAbandonments extends BackendAbandonmentsContract {
        BackendAbandonments() {
            super(LockContract.this);
        }
    }

    /** See {@link BackendQueuesContract}. */
    @Nested
    @Order(6)
    @DisplayName("A backend's queue")
    class BackendQueues extends BackendQueuesContract {
        BackendQueues() {
            super(LockContract.this);
        }
    }

    /** See {@link BackendLateRequestsContract}. */
    @Nested
    @Order(28)
    @DisplayName("A backend's late request")
    class BackendLateRequests extends BackendLateRequestsContract {
        BackendLateRequests() {
            super(LockContract.this);
        }
    }

    /** See {@link BackendNamesContract}. */
    @Nested
    @Order(7)
    @DisplayName("A backend's lock name")
    class BackendNames extends BackendNamesContract {
        BackendNames() {
            super(LockContract.this);
        }
    }

    /** See {@link BackendHoldersContract}. */
    @Nested
    @Order(8)
    @DisplayName("A backend's holder")
    class BackendHolders extends BackendHoldersContract {
        BackendHolders() {
            super(LockContract.this);
        }
    }

    /** See {@link ExclusionContract}. */
    @Nested
    @Order(9)
    @DisplayName("A lock")
    class Exclusion extends ExclusionContract {
        Exclusion() {
            super(LockContract.this);
        }
    }

    /** See {@link ReentryContract}. */
    @Nested
    @Order(10)
    @DisplayName("Re-entry")
    class Reentry extends ReentryContract {
        Reentry() {
            super(LockContract.this);
        }
    }

    /** See {@link WaitingContract}. */
    @Nested
    @Order(11)
    @DisplayName("Waiting")
    class Waiting extends WaitingContract {
        Waiting() {
            super(LockContract.this);
        }
    }

    /** See {@link InterruptContract}. */
    @Nested
    @Order(12)
    @DisplayName("An interrupt")
    class Interrupt extends InterruptContract {
        Interrupt() {
            super(LockContract.this);
        }
    }

    /** See {@link OwnershipContract}. */
    @Nested
    @Order(13)
    @DisplayName("Ownership")
    class Ownership extends OwnershipContract {
        Ownership() {
            super(LockContract.this);
        }
    }

    /** See {@link RenewalContract}. */
    @Nested
    @Order(14)
    @DisplayName("Renewal")
    class Renewal extends RenewalContract {
        Renewal() {
            super(LockContract.this);
        }
    }

    /** See {@link LossContract}. */
    @Nested
    @Order(15)
    @DisplayName("The loss of a lease")
    class Loss extends LossContract {
        Loss() {
            super(LockContract.this);
        }
    }

    /** See {@link HoldLimitsContract}. */
    @Nested
    @Order(16)
    @DisplayName("A client")
    class HoldLimits extends HoldLimitsContract {
        HoldLimits() {
            super(LockContract.this);
        }
    }

    /** See {@link FencingContract}. */
    @Nested
    @Order(17)
    @DisplayName("A fencing token")
    class Fencing extends FencingContract {
        Fencing() {
            super(LockContract.this);
        }
    }

    /** See {@link ContentionContract}. */
    @Nested
    @Order(18)
    @DisplayName("Contention")
    class Contention extends ContentionContract {
        Contention() {
            super(LockContract.this);
        }
    }

    /** See {@link AsyncContract}. */
    @Nested
    @Order(19)
    @DisplayName("An async acquisition")
    class Async extends AsyncContract {
        Async() {
            super(LockContract.this);
        }
    }

    /** See {@link CancellationContract}. */
    @Nested
    @Order(20)
    @DisplayName("Giving up")
    class Cancellation extends CancellationContract {
        Cancellation() {
            super(LockContract.this);
        }
    }

    /** See {@link LostReplyContract}. */
    @Nested
    @Order(21)
    @DisplayName("The lost reply")
    class LostReply extends LostReplyContract {
        LostReply() {
            super(LockContract.this);
        }
    }

    /** See {@link IdleContract}. */
    @Nested
    @Order(22)
    @DisplayName("The cost")
    class Idle extends IdleContract {
        Idle() {
            super(LockContract.this);
        }
    }

    /** See {@link ListenersContract}. */
    @Nested
    @Order(23)
    @DisplayName("A listener")
    class Listeners extends ListenersContract {
        Listeners() {
            super(LockContract.this);
        }
    }

    /** See {@link ShutdownContract}. */
    @Nested
    @Order(24)
    @DisplayName("Closing a client")
    class Shutdown extends ShutdownContract {
        Shutdown() {
            super(LockContract.this);
        }
    }

    /** See {@link BadInputContract}. */
    @Nested
    @Order(25)
    @DisplayName("Bad input")
    class BadInput extends BadInputContract {
        BadInput() {
            super(LockContract.this);
        }
    }

    /** See {@link VirtualThreadsContract}. */
    @Nested
    @Order(26)
    @DisplayName("Virtual threads")
    class VirtualThreads extends VirtualThreadsContract {
        VirtualThreads() {
            super(LockContract.this);
        }
    }

    /** See {@link ServerFaultsContract}. */
    @Nested
    @Order(27)
    @DisplayName("A server")
    class ServerFaults extends ServerFaultsContract {
        ServerFaults() {
            super(LockContract.this);
        }
    }
}
