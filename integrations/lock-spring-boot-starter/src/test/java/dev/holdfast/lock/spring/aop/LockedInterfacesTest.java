package dev.holdfast.lock.spring.aop;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.spring.CurrentLease;
import dev.holdfast.lock.spring.Locked;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.data.annotation.Id;
import org.springframework.data.keyvalue.core.KeyValueTemplate;
import org.springframework.data.keyvalue.repository.support.KeyValueRepositoryFactory;
import org.springframework.data.map.MapKeyValueAdapter;
import org.springframework.data.repository.CrudRepository;

/** Interfaces without a class of the application: repositories, mappers, declared HTTP clients. */
class LockedInterfacesTest {
    private final LockedApplication application = new LockedApplication();

    /** As Feign's and Spring's HTTP clients, and MyBatis' mappers: a JDK proxy that a method or a factory bean makes. */
    interface Prices {
        @Locked("prices/#{#id}")
        String price(long id);

        String unlocked(long id);
    }

    interface General<T> {
        @Locked("general/#{#id}")
        T get(long id);
    }

    interface Special extends General<String> {}

    static class OfAClass implements Special {
        @Override
        public String get(long id) {
            return CurrentLease.require().name();
        }
    }

    private static <T> T proxy(Class<T> type) {
        InvocationHandler handler = (proxy, method, arguments) ->
                CurrentLease.find().map(lease -> lease.name()).orElse("no lock");
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
    }

    @Configuration
    static class Clients {
        @Bean
        Prices prices() {
            return proxy(Prices.class);
        }

        @Bean
        FactoryBean<Special> special() {
            return new FactoryBean<>() {
                @Override
                public Special getObject() {
                    return proxy(Special.class);
                }

                @Override
                public Class<?> getObjectType() {
                    return Special.class;
                }
            };
        }
    }

    @Test
    void proxyOfAnInterface_isLocked_whoeverMakesIt() {
        application.with(Clients.class, OfAClass.class).run(context -> {
            assertThat(context).hasNotFailed();
            assertThat(context.getBean(Prices.class).price(7)).isEqualTo("prices/7");
            assertThat(context.getBean(Prices.class).unlocked(7)).isEqualTo("no lock");
            assertThat(context.getBean(OfAClass.class).get(9)).isEqualTo("general/9");
            assertThat(context.getBean("special", Special.class).get(8)).isEqualTo("general/8");
        });
    }

    record Order(@Id String id) {}

    interface Orders extends CrudRepository<Order, String> {
        @Override
        @Locked("orders/#{#order.id()}")
        <S extends Order> S save(S order);

        @Locked("orders/first")
        default String first() {
            return CurrentLease.require().name();
        }
    }

    @Configuration
    static class Repositories {
        @Bean
        Orders orders() {
            return new KeyValueRepositoryFactory(new KeyValueTemplate(new MapKeyValueAdapter()))
                    .getRepository(Orders.class);
        }
    }

    @Test
    void repositoryOfSpringData_isLocked() {
        application.with(Repositories.class).run(context -> {
            assertThat(context).hasNotFailed();
            Orders orders = context.getBean(Orders.class);
            assertThat(orders.save(new Order("5")).id()).isEqualTo("5");
            assertThat(application.store.commands()).isPositive();
            assertThat(orders.first()).isEqualTo("orders/first");
        });
    }
}
