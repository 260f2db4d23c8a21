package dev.holdfast.lock.testkit.server;

import dev.holdfast.lock.testkit.server.process.ServerEnvironment;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** What MariaDB and MySQL have in common: a database and a user at the first start, and most of the command line. */
final class MySqlFamily {

    private static final String STATEMENTS = "setup.sql";
    private static final String SETUP = """
            CREATE DATABASE IF NOT EXISTS holdfast;
            CREATE USER IF NOT EXISTS %1$s@'%%' IDENTIFIED BY '%2$s';
            GRANT ALL PRIVILEGES ON *.* TO %1$s@'%%' WITH GRANT OPTION;
            """;

    private MySqlFamily() {}

    /** Writes the statements that each start runs. */
    static void prepare(ServerEnvironment environment, String user, String password) throws IOException {
        environment.write(STATEMENTS, SETUP.formatted(user, password));
    }

    static String data(ServerEnvironment environment) {
        return "--datadir=" + environment.folder().resolve("data");
    }

    /** Not where other servers have theirs: MariaDB removes all temporary tables of that place when it starts. */
    static String temporaryFiles(ServerEnvironment environment) {
        return "--tmpdir=" + environment.folder();
    }

    /** The command line of a server that listens on TCP and on a socket in its folder, for 300 connections. */
    static List<String> command(ServerEnvironment environment, String program, List<String> own, String... settings) {
        List<String> command = new ArrayList<>(List.of(
                environment.program(program),
                "--no-defaults",
                data(environment),
                temporaryFiles(environment),
                "--bind-address=" + environment.host(),
                "--port=" + environment.port(),
                "--socket=" + environment.folder().resolve("socket"),
                "--pid-file=" + environment.folder().resolve("pid"),
                "--init-file=" + environment.folder().resolve(STATEMENTS),
                "--max-connections=300",
                "--skip-name-resolve"));
        command.addAll(own);
        for (String setting : settings) {
            command.add("--" + setting);
        }
        return command;
    }
}
