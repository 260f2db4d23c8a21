package dev.holdfast.lock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.lang.reflect.Proxy;
import java.util.Iterator;
import java.util.List;
import java.util.ServiceConfigurationError;
import java.util.Set;
import org.junit.jupiter.api.Test;

class ProvidersTest {

    private static class One implements LockProvider {
        @Override
        public Set<String> schemes() {
            return Set.of("one", "shared");
        }

        @Override
        public LockClient connect(String uri, LockClientOptions options) {
            throw new UnsupportedOperationException();
        }
    }

    private static final class Other extends One {
        @Override
        public Set<String> schemes() {
            return Set.of("other", "shared");
        }
    }

    private static final One ONE = new One();
    private static final Other OTHER = new Other();

    @Test
    void select_anyCase_findsTheOneProvider() {
        assertThat(Providers.select("ONE://h", List.of(ONE, OTHER))).isSameAs(ONE);
        assertThat(Providers.select("other:x", List.of(ONE, OTHER))).isSameAs(OTHER);
    }

    @Test
    void select_schemeOfTwoProviders_isRefusedByName() {
        assertThatExceptionOfType(LockConfigurationException.class)
                .isThrownBy(() -> Providers.select("shared://u:CANARY@h", List.of(OTHER, ONE)))
                .withMessage("several lock providers serve the URI scheme 'shared': [" + One.class.getName() + ", "
                        + Other.class.getName() + "]; leave only one of them on the class path")
                .withMessageNotContaining("CANARY");
    }

    @Test
    void select_schemeOfNobody_listsWhatIsServed() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Providers.select("none://u:CANARY@h", List.of(ONE, OTHER)))
                .withMessageContaining("[one, other, shared]")
                .withMessageNotContaining("CANARY");
    }

    @Test
    void select_besideAProviderThatCannotBeLoaded_findsTheOther() {
        assertThat(Providers.select("one://h", withBroken(ONE))).isSameAs(ONE);
        assertThatExceptionOfType(LockConfigurationException.class)
                .isThrownBy(() -> Providers.select("missing://h", withBroken(ONE)))
                .withMessageContaining("no such class")
                .withCauseInstanceOf(ServiceConfigurationError.class);
    }

    @Test
    void select_withoutAnyProvider_saysWhatToAdd() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Providers.select("redis://u:CANARY@h", List.of()))
                .withMessage(
                        "no lock provider serves the URI scheme 'redis'; found no providers at all; add the backend's"
                                + " module (lock-redis, lock-etcd, lock-zookeeper, lock-consul, lock-memcached, lock-jdbc)"
                                + " to the class path");
    }

    /** Broken providers are skipped, even if the class path lists the same broken class endlessly. */
    @Test
    void select_besideProvidersThatCannotBeLoaded_endsHoweverManyThereAre() {
        NoClassDefFoundError unlinked = new NoClassDefFoundError("store/Base");
        assertThatExceptionOfType(LockConfigurationException.class)
                .isThrownBy(() -> Providers.select("one://h", () -> new Iterator<>() {
                    @Override
                    public boolean hasNext() {
                        return true;
                    }

                    @Override
                    public LockProvider next() {
                        throw unlinked;
                    }
                }))
                .withMessageStartingWith("no lock provider that works serves the URI scheme 'one': "
                        + LockProvider.class.getName() + ": a class of the store's client cannot be linked")
                .withMessageContaining("store/Base")
                .withMessageEndingWith("; complete or align the backend's dependencies")
                .havingCause()
                .isInstanceOf(ServiceConfigurationError.class)
                .withCause(unlinked);
    }

    @Test
    void connect_withALibraryOfAnotherVersion_isToldAsAnException() {
        NoSuchMethodError other = new NoSuchMethodError("'void store.Driver.open()'");
        One unlinked = new One() {
            @Override
            public LockClient connect(String uri, LockClientOptions options) {
                throw other;
            }
        };
        assertThatExceptionOfType(LockConfigurationException.class)
                .isThrownBy(() -> Providers.connect(unlinked, "one://h", LockClientOptions.defaults()))
                .withMessageStartingWith("connecting by 'one': ")
                .withCause(other);
    }

    @Test
    void connect_whereAClassIsMissing_isToldAsAnException() {
        NoClassDefFoundError missing = new NoClassDefFoundError("store/Driver");
        One unlinked = new One() {
            @Override
            public LockClient connect(String uri, LockClientOptions options) {
                throw missing;
            }
        };
        assertThatExceptionOfType(LockConfigurationException.class)
                .isThrownBy(() -> Providers.connect(unlinked, "one://u:CANARY@h", LockClientOptions.defaults()))
                .withMessageStartingWith("connecting by 'one': a class of the store's client cannot be linked")
                .withMessageContaining("store/Driver")
                .withMessageNotContaining("CANARY")
                .withCause(missing);
    }

    @Test
    void select_besideAProviderThatCannotBeLinked_findsTheOther() {
        One unlinked = new One() {
            @Override
            public Set<String> schemes() {
                throw new ExceptionInInitializerError("no such driver");
            }
        };
        assertThat(Providers.select("other://h", List.of(unlinked, OTHER))).isSameAs(OTHER);
        assertThatExceptionOfType(LockConfigurationException.class)
                .isThrownBy(() -> Providers.select("one://h", List.of(unlinked, OTHER)))
                .withMessageContaining("no such driver");
    }

    @Test
    void connect_isTheProvidersClient() {
        LockClient client = (LockClient) Proxy.newProxyInstance(
                ProvidersTest.class.getClassLoader(), new Class<?>[] {LockClient.class}, (proxy, method, args) -> null);
        One connecting = new One() {
            @Override
            public LockClient connect(String uri, LockClientOptions options) {
                return client;
            }
        };
        assertThat(Providers.connect(connecting, "one://h", LockClientOptions.defaults()))
                .isSameAs(client);
    }

    private static Iterable<LockProvider> withBroken(LockProvider working) {
        return () -> new Iterator<>() {
            private int calls;

            @Override
            public boolean hasNext() {
                return calls < 2;
            }

            @Override
            public LockProvider next() {
                if (calls++ == 0) {
                    throw new ServiceConfigurationError("no such class");
                }
                return working;
            }
        };
    }
}
