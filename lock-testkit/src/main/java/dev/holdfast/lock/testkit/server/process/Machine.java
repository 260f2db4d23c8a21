package dev.holdfast.lock.testkit.server.process;

import dev.holdfast.lock.testkit.server.network.ServerNetwork;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** One machine of a {@link ServerNetwork}: a network namespace on this one, with all its files and programs. Immutable. */
public final class Machine {
    private final long holder;
    private final String address;

    public Machine(long holder, String address) {
        this.holder = holder;
        this.address = address;
    }

    /**
     * The address that its servers listen on, which is reached from this machine and from the network's others.
     *
     * @return an IPv4 address
     */
    public String address() {
        return address;
    }

    /** The process that keeps the namespace. */
    public long holder() {
        return holder;
    }

    /** What a command begins with that runs there. Its process is the command's own. */
    public static List<String> enter(long holder) {
        return List.of("nsenter", "--net=/proc/" + holder + "/ns/net", "--");
    }

    ServerHost host() {
        return new Namespace(address, enter(holder));
    }

    private record Namespace(String address, List<String> prefix) implements ServerHost {

        @Override
        public ServerRun launch(ServerEnvironment environment, List<String> command) throws IOException {
            return ThisMachine.INSTANCE.launch(environment, prefixed(command));
        }

        @Override
        public String run(ServerEnvironment environment, List<String> command)
                throws IOException, InterruptedException {
            return ThisMachine.INSTANCE.run(environment, prefixed(command));
        }

        @Override
        public String program(List<String> names, String... folders) {
            return ThisMachine.INSTANCE.program(names, folders);
        }

        private List<String> prefixed(List<String> command) {
            List<String> all = new ArrayList<>(prefix);
            all.addAll(command);
            return all;
        }
    }

    @Override
    public String toString() {
        return address;
    }
}
