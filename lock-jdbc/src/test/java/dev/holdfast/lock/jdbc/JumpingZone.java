package dev.holdfast.lock.jdbc;

import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.zone.ZoneOffsetTransition;
import java.time.zone.ZoneRules;
import java.time.zone.ZoneRulesProvider;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;

/** A time zone whose summer time begins and ends when a test needs it. */
public final class JumpingZone extends ZoneRulesProvider {
    private static final ZoneOffset WINTER = ZoneOffset.ofHours(1);
    private static final ZoneOffset SUMMER = ZoneOffset.ofHours(2);
    private static final AtomicInteger ZONES = new AtomicInteger();

    private final String id;
    private final ZoneRules rules;

    private JumpingZone(ZoneOffset first, List<Instant> changes) {
        id = "Holdfast/Zone" + ZONES.incrementAndGet();
        List<ZoneOffsetTransition> transitions = new ArrayList<>();
        ZoneOffset before = first;
        for (Instant change : changes) {
            ZoneOffset after = before.equals(WINTER) ? SUMMER : WINTER;
            LocalDateTime local = LocalDateTime.ofEpochSecond(change.getEpochSecond(), 0, before);
            transitions.add(ZoneOffsetTransition.of(local, before, after));
            before = after;
        }
        rules = ZoneRules.of(WINTER, first, List.of(), transitions, List.of());
    }

    /** A zone in which summer time begins, or ends, at an instant. Returns its id. */
    public static String once(boolean begins, Instant at) {
        return registered(new JumpingZone(begins ? WINTER : SUMMER, List.of(at)));
    }

    /** A zone in which summer time begins and ends in turn for the next half hour, with that pause between. Returns its id. */
    public static String again(Duration pause) {
        Instant now = Instant.now();
        List<Instant> changes = new ArrayList<>();
        for (Instant next = now; next.isBefore(now.plusSeconds(1_800)); next = next.plus(pause)) {
            changes.add(next);
        }
        return registered(new JumpingZone(WINTER, changes));
    }

    private static String registered(JumpingZone zone) {
        registerProvider(zone);
        return zone.id;
    }

    @Override
    protected Set<String> provideZoneIds() {
        return Set.of(id);
    }

    @Override
    protected ZoneRules provideRules(String zoneId, boolean forCaching) {
        return rules;
    }

    @Override
    protected NavigableMap<String, ZoneRules> provideVersions(String zoneId) {
        return new TreeMap<>(Map.of("1", rules));
    }
}
