package dev.holdfast.lock.testkit;

import dev.holdfast.lock.testkit.contract.AsyncContract;
import dev.holdfast.lock.testkit.contract.BadInputContract;
import dev.holdfast.lock.testkit.contract.BystandersContract;
import dev.holdfast.lock.testkit.contract.ContentionContract;
import dev.holdfast.lock.testkit.contract.ElectionContract;
import dev.holdfast.lock.testkit.contract.EventSumsContract;
import dev.holdfast.lock.testkit.contract.ExclusionContract;
import dev.holdfast.lock.testkit.contract.FencingContract;
import dev.holdfast.lock.testkit.contract.HoldLimitsContract;
import dev.holdfast.lock.testkit.contract.HousesContract;
import dev.holdfast.lock.testkit.contract.IdleContract;
import dev.holdfast.lock.testkit.contract.ListenersContract;
import dev.holdfast.lock.testkit.contract.MultiLockContract;
import dev.holdfast.lock.testkit.contract.OwnershipContract;
import dev.holdfast.lock.testkit.contract.ReadWriteContract;
import dev.holdfast.lock.testkit.contract.ReentryContract;
import dev.holdfast.lock.testkit.contract.RenewalContract;
import dev.holdfast.lock.testkit.contract.SemaphoreContract;
import dev.holdfast.lock.testkit.contract.VirtualThreadsContract;
import dev.holdfast.lock.testkit.contract.WaitingContract;
import dev.holdfast.lock.testkit.contract.backend.BackendAbandonmentsContract;
import dev.holdfast.lock.testkit.contract.backend.BackendAttemptsContract;
import dev.holdfast.lock.testkit.contract.backend.BackendHoldersContract;
import dev.holdfast.lock.testkit.contract.backend.BackendLateRequestsContract;
import dev.holdfast.lock.testkit.contract.backend.BackendListingsContract;
import dev.holdfast.lock.testkit.contract.backend.BackendNamesContract;
import dev.holdfast.lock.testkit.contract.backend.BackendPermitsContract;
import dev.holdfast.lock.testkit.contract.backend.BackendQueuesContract;
import dev.holdfast.lock.testkit.contract.backend.BackendReleasesContract;
import dev.holdfast.lock.testkit.contract.backend.BackendRenewalsContract;
import dev.holdfast.lock.testkit.contract.backend.BackendSharesContract;
import dev.holdfast.lock.testkit.contract.backend.BackendTokensContract;
import dev.holdfast.lock.testkit.contract.fault.CancellationContract;
import dev.holdfast.lock.testkit.contract.fault.InterruptContract;
import dev.holdfast.lock.testkit.contract.fault.LossContract;
import dev.holdfast.lock.testkit.contract.fault.LostReplyContract;
import dev.holdfast.lock.testkit.contract.fault.ServerFaultsContract;
import dev.holdfast.lock.testkit.contract.fault.ShutdownContract;
import dev.holdfast.lock.testkit.contract.fault.SilenceContract;
import dev.holdfast.lock.testkit.fixture.ContractContext;
import dev.holdfast.lock.testkit.fixture.LockFixture;
import org.junit.jupiter.api.ClassOrderer;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
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
 *
 * <p>A store that has several fixtures (a cluster next to one server, a second strategy) may mark all but one with
 * {@code @Tag(LockContract.VARIANT)}, and leave out the tests that have both tags, {@value #VARIANT} and
 * {@value #ONCE_A_STORE}, in everyday runs. Those that send the same requests as another fixture are {@value #SAME_PROTOCOL}
 * as well, and leave out what is {@value #ONCE_A_PROTOCOL}; of these, those that use the same client library and version of the
 * servers are {@value #SAME_CLIENT}, and leave out what is {@value #ONCE_A_CLIENT}.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@TestClassOrder(ClassOrderer.OrderAnnotation.class)
@ExtendWith(ContractExtension.class)
public abstract class LockContract {
    /** Marks a fixture next to another one of the same store, which runs everything. */
    public static final String VARIANT = "variant";

    /** Marks the groups that look at the engine: what they ask of the store is asked by other groups too. */
    public static final String ONCE_A_STORE = "once-a-store";

    /** Marks a variant that sends its store the same requests as the fixture that runs everything: it only looks different. */
    public static final String SAME_PROTOCOL = "same-protocol";

    /** Marks the groups whose outcome is decided by the requests that a backend sends, however many servers there are. */
    public static final String ONCE_A_PROTOCOL = "once-a-protocol";

    /** Marks a variant of {@link #SAME_PROTOCOL} that also uses the same client library and version of the servers. */
    public static final String SAME_CLIENT = "same-client";

    /** Marks the groups that a client library or a version of the servers may break, but not a number of servers or TLS. */
    public static final String ONCE_A_CLIENT = "once-a-client";

    private final ContractContext context = new ContractContext(this::startFixture);

    /** For subclasses. */
    protected LockContract() {}

    /**
     * Starts the store. Called once for the class; the contract closes it.
     *
     * @return a running fixture
     * @throws Exception if it cannot be started, which fails the class
     */
    protected abstract LockFixture startFixture() throws Exception;

    final ContractContext context() {
        return context;
    }

    /** See {@link SilenceContract}. */
    @Nested
    @Order(0)
    @DisplayName("A client that nothing disturbs")
    class Silence extends SilenceContract {
        Silence() {
            super(context());
        }
    }

    /** See {@link BackendAttemptsContract}. */
    @Nested
    @Order(1)
    @DisplayName("A backend's attempt")
    class BackendAttempts extends BackendAttemptsContract {
        BackendAttempts() {
            super(context());
        }
    }

    /** See {@link BackendTokensContract}. */
    @Nested
    @Order(2)
    @DisplayName("A backend's fencing token")
    @Tag(ONCE_A_CLIENT)
    class BackendTokens extends BackendTokensContract {
        BackendTokens() {
            super(context());
        }
    }

    /** See {@link BackendReleasesContract}. */
    @Nested
    @Order(3)
    @DisplayName("A backend's release")
    class BackendReleases extends BackendReleasesContract {
        BackendReleases() {
            super(context());
        }
    }

    /** See {@link BackendRenewalsContract}. */
    @Nested
    @Order(4)
    @DisplayName("A backend's renewal")
    @Tag(ONCE_A_CLIENT)
    class BackendRenewals extends BackendRenewalsContract {
        BackendRenewals() {
            super(context());
        }
    }

    /** See {@link BackendAbandonmentsContract}. */
    @Nested
    @Order(5)
    @DisplayName("A backend's abandonment")
    @Tag(ONCE_A_CLIENT)
    class BackendAbandonments extends BackendAbandonmentsContract {
        BackendAbandonments() {
            super(context());
        }
    }

    /** See {@link BackendQueuesContract}. */
    @Nested
    @Order(6)
    @DisplayName("A backend's queue")
    @Tag(ONCE_A_CLIENT)
    class BackendQueues extends BackendQueuesContract {
        BackendQueues() {
            super(context());
        }
    }

    /** See {@link BackendLateRequestsContract}. */
    @Nested
    @Order(28)
    @DisplayName("A backend's late request")
    @Tag(ONCE_A_PROTOCOL)
    class BackendLateRequests extends BackendLateRequestsContract {
        BackendLateRequests() {
            super(context());
        }
    }

    /** See {@link BackendNamesContract}. */
    @Nested
    @Order(7)
    @DisplayName("A backend's lock name")
    @Tag(ONCE_A_CLIENT)
    class BackendNames extends BackendNamesContract {
        BackendNames() {
            super(context());
        }
    }

    /** See {@link BackendHoldersContract}. */
    @Nested
    @Order(8)
    @DisplayName("A backend's holder")
    @Tag(ONCE_A_CLIENT)
    class BackendHolders extends BackendHoldersContract {
        BackendHolders() {
            super(context());
        }
    }

    /** See {@link BackendListingsContract}. */
    @Nested
    @Order(8)
    @DisplayName("A backend's listing")
    @Tag(ONCE_A_CLIENT)
    class BackendListings extends BackendListingsContract {
        BackendListings() {
            super(context());
        }
    }

    /** See {@link BackendSharesContract}. */
    @Nested
    @Order(8)
    @DisplayName("A backend's share")
    @Tag(ONCE_A_CLIENT)
    class BackendShares extends BackendSharesContract {
        BackendShares() {
            super(context());
        }
    }

    /** See {@link BackendPermitsContract}. */
    @Nested
    @Order(8)
    @DisplayName("A backend's permit")
    @Tag(ONCE_A_CLIENT)
    class BackendPermits extends BackendPermitsContract {
        BackendPermits() {
            super(context());
        }
    }

    /** See {@link ExclusionContract}. */
    @Nested
    @Order(9)
    @DisplayName("A lock")
    class Exclusion extends ExclusionContract {
        Exclusion() {
            super(context());
        }
    }

    /** See {@link ReentryContract}. */
    @Nested
    @Order(10)
    @DisplayName("Re-entry")
    @Tag(ONCE_A_STORE)
    class Reentry extends ReentryContract {
        Reentry() {
            super(context());
        }
    }

    /** See {@link WaitingContract}. */
    @Nested
    @Order(11)
    @DisplayName("Waiting")
    @Tag(ONCE_A_CLIENT)
    class Waiting extends WaitingContract {
        Waiting() {
            super(context());
        }
    }

    /** See {@link InterruptContract}. */
    @Nested
    @Order(12)
    @DisplayName("An interrupt")
    @Tag(ONCE_A_CLIENT)
    class Interrupt extends InterruptContract {
        Interrupt() {
            super(context());
        }
    }

    /** See {@link OwnershipContract}. */
    @Nested
    @Order(13)
    @DisplayName("Ownership")
    @Tag(ONCE_A_STORE)
    class Ownership extends OwnershipContract {
        Ownership() {
            super(context());
        }
    }

    /** See {@link RenewalContract}. */
    @Nested
    @Order(14)
    @DisplayName("Renewal")
    @Tag(ONCE_A_STORE)
    class Renewal extends RenewalContract {
        Renewal() {
            super(context());
        }
    }

    /** See {@link LossContract}. */
    @Nested
    @Order(15)
    @DisplayName("The loss of a lease")
    @Tag(ONCE_A_STORE)
    class Loss extends LossContract {
        Loss() {
            super(context());
        }
    }

    /** See {@link HoldLimitsContract}. */
    @Nested
    @Order(16)
    @DisplayName("A client")
    @Tag(ONCE_A_STORE)
    class HoldLimits extends HoldLimitsContract {
        HoldLimits() {
            super(context());
        }
    }

    /** See {@link FencingContract}. */
    @Nested
    @Order(17)
    @DisplayName("A fencing token")
    @Tag(ONCE_A_CLIENT)
    class Fencing extends FencingContract {
        Fencing() {
            super(context());
        }
    }

    /** See {@link ContentionContract}. */
    @Nested
    @Order(18)
    @DisplayName("Contention")
    @Tag(ONCE_A_STORE)
    class Contention extends ContentionContract {
        Contention() {
            super(context());
        }
    }

    /** See {@link AsyncContract}. */
    @Nested
    @Order(19)
    @DisplayName("An async acquisition")
    @Tag(ONCE_A_STORE)
    class Async extends AsyncContract {
        Async() {
            super(context());
        }
    }

    /** See {@link CancellationContract}. */
    @Nested
    @Order(20)
    @DisplayName("Giving up")
    @Tag(ONCE_A_STORE)
    class Cancellation extends CancellationContract {
        Cancellation() {
            super(context());
        }
    }

    /** See {@link LostReplyContract}. */
    @Nested
    @Order(21)
    @DisplayName("The lost reply")
    @Tag(ONCE_A_STORE)
    class LostReply extends LostReplyContract {
        LostReply() {
            super(context());
        }
    }

    /** See {@link IdleContract}. */
    @Nested
    @Order(22)
    @DisplayName("The cost")
    @Tag(ONCE_A_STORE)
    class Idle extends IdleContract {
        Idle() {
            super(context());
        }
    }

    /** See {@link ListenersContract}. */
    @Nested
    @Order(23)
    @DisplayName("A listener")
    @Tag(ONCE_A_STORE)
    class Listeners extends ListenersContract {
        Listeners() {
            super(context());
        }
    }

    /** See {@link ShutdownContract}. */
    @Nested
    @Order(24)
    @DisplayName("Closing a client")
    @Tag(ONCE_A_STORE)
    class Shutdown extends ShutdownContract {
        Shutdown() {
            super(context());
        }
    }

    /** See {@link BadInputContract}. */
    @Nested
    @Order(25)
    @DisplayName("Bad input")
    @Tag(ONCE_A_CLIENT)
    class BadInput extends BadInputContract {
        BadInput() {
            super(context());
        }
    }

    /** See {@link VirtualThreadsContract}. */
    @Nested
    @Order(26)
    @DisplayName("Virtual threads")
    class VirtualThreads extends VirtualThreadsContract {
        VirtualThreads() {
            super(context());
        }
    }

    /** See {@link ServerFaultsContract}. The last one: it changes leaders and restarts servers. */
    @Nested
    @Order(40)
    @DisplayName("A server")
    class ServerFaults extends ServerFaultsContract {
        ServerFaults() {
            super(context());
        }
    }

    /** See {@link EventSumsContract}. */
    @Nested
    @Order(28)
    @DisplayName("The events of a client")
    @Tag(ONCE_A_STORE)
    class EventSums extends EventSumsContract {
        EventSums() {
            super(context());
        }
    }

    /** See {@link MultiLockContract}. */
    @Nested
    @Order(29)
    @DisplayName("A multi-lock")
    @Tag(ONCE_A_STORE)
    class MultiLocks extends MultiLockContract {
        MultiLocks() {
            super(context());
        }
    }

    /** See {@link ElectionContract}. */
    @Nested
    @Order(30)
    @DisplayName("An election")
    @Tag(ONCE_A_STORE)
    class Elections extends ElectionContract {
        Elections() {
            super(context());
        }
    }

    /** See {@link ReadWriteContract}. */
    @Nested
    @Order(31)
    @DisplayName("A read-write lock")
    @Tag(ONCE_A_STORE)
    class ReadWriteLocks extends ReadWriteContract {
        ReadWriteLocks() {
            super(context());
        }
    }

    /** See {@link SemaphoreContract}. */
    @Nested
    @Order(32)
    @DisplayName("A semaphore")
    @Tag(ONCE_A_STORE)
    class Semaphores extends SemaphoreContract {
        Semaphores() {
            super(context());
        }
    }

    /** See {@link BystandersContract}. */
    @Nested
    @Order(33)
    @DisplayName("Bystanders")
    @Tag(ONCE_A_STORE)
    class Bystanders extends BystandersContract {
        Bystanders() {
            super(context());
        }
    }

    /** See {@link HousesContract}. */
    @Nested
    @Order(34)
    @DisplayName("Houses")
    @Tag(ONCE_A_STORE)
    class Houses extends HousesContract {
        Houses() {
            super(context());
        }
    }
}
