package dev.holdfast.lock.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.cli.process.GivenSignals;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What an attempt to be elected that fails does. */
class ElectCommandTest {
    private final List<String> messages = new ArrayList<>();

    static List<LockException> passing() {
        return List.of(
                new LockUnavailableException("the store is away"),
                new LeaseLostException("lost at the moment of its grant", LossReason.EXPIRED, 7, null));
    }

    /** Otherwise the service would not run on this node any more. */
    @ParameterizedTest
    @MethodSource("passing")
    void failure_thatPasses_isTold_andTheNodeStandsAgain(LockException failure) throws Exception {
        ElectCommand command = (ElectCommand) Holdfast.commandLine()
                .getSubcommands()
                .get("elect")
                .getCommandSpec()
                .userObject();
        LockRunner runner = new LockRunner(new LeaseOptions(), GivenSignals.none(), messages::add);

        Duration ran = command.standOnce(
                failing(LockClient.class, failure), failing(DistributedLock.class, failure), runner, messages::add);

        assertThat(ran).isZero();
        assertThat(messages).containsExactly(failure.getMessage() + "; trying again");
    }

    private static <T> T failing(Class<T> type, LockException failure) {
        return type.cast(
                Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
                    throw failure;
                }));
    }
}
