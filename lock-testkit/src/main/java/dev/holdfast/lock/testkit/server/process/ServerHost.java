package dev.holdfast.lock.testkit.server.process;

import java.io.IOException;
import java.util.List;

/** What runs a server's programs: this machine itself, or a container engine on it. Thread-safe. */
interface ServerHost {

    /** Starts a program that stays in the foreground, with its output appended to the environment's log. */
    ServerRun launch(ServerEnvironment environment, List<String> command) throws IOException;

    /** Runs a program to its end, at most two minutes, and returns what it printed. */
    String run(ServerEnvironment environment, List<String> command) throws IOException, InterruptedException;

    /** The address that servers listen on. */
    default String address() {
        return "127.0.0.1";
    }

    /** How a command line names the first of some programs that is there. */
    String program(List<String> names, String... folders);
}
