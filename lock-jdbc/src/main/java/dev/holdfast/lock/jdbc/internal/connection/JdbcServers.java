package dev.holdfast.lock.jdbc.internal.connection;

import dev.holdfast.lock.jdbc.internal.dialect.driver.DatabaseDriver;
import dev.holdfast.lock.spi.support.ConnectDiagnosis;
import dev.holdfast.lock.spi.support.LockUri;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The servers of a JDBC address. */
public final class JdbcServers {
    private static final Pattern AUTHORITY = Pattern.compile("//([^/?;]+)");
    private static final Pattern HOST = Pattern.compile("(\\[[^]]+]|[^:]+)(?::(\\d{1,5}))?");

    private JdbcServers() {}

    public static ConnectDiagnosis diagnosis(JdbcAddress address, long deadlineNanos) {
        DatabaseDriver driver = address.driver();
        boolean tls = driver.isTls(address.url());
        return new ConnectDiagnosis(
                new ConnectDiagnosis.Target(address.url(), servers(address), tls, driver.otherForm(tls)),
                driver.greeting(),
                JdbcFailureTranslator.CONNECTING,
                deadlineNanos);
    }

    /** Empty for an embedded database, and for hosts with details in parentheses. */
    public static List<LockUri.Host> servers(JdbcAddress address) {
        Matcher authority = AUTHORITY.matcher(address.url());
        List<LockUri.Host> servers = new ArrayList<>();
        if (!authority.find() || authority.group(1).indexOf('(') >= 0) {
            return servers;
        }
        for (String each : authority.group(1).split(",", -1)) {
            Matcher host = HOST.matcher(each);
            if (host.matches()) {
                int port = host.group(2) == null ? address.driver().defaultPort() : Integer.parseInt(host.group(2));
                servers.add(new LockUri.Host(host.group(1), Math.min(port, 65_535)));
            }
        }
        return servers;
    }
}
