package dev.holdfast.lock.spring.boot;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.spring.CurrentLease;
import dev.holdfast.lock.spring.Locked;
import dev.holdfast.lock.spring.actuate.LocksEndpoint;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.SpringBootVersion;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.core.task.AsyncTaskExecutor;

/** What {@link BootVersionsIT} runs; uses only what all versions of Boot have under the same name. */
@SpringBootConfiguration
@EnableAutoConfiguration
public class BootVersionsApplication {
    public static void main(String[] args) throws Exception {
        SpringApplication application = new SpringApplication(BootVersionsApplication.class);
        application.setWebApplicationType(WebApplicationType.NONE);
        String[] all = Arrays.copyOf(args, args.length + 2);
        all[args.length] = "--management.health.locks.enabled=true";
        all[args.length + 1] = "--management.endpoints.web.exposure.include=locks,health";
        try (ConfigurableApplicationContext context = application.run(all)) {
            System.out.println(
                    "Boot " + SpringBootVersion.getVersion() + ", Java " + System.getProperty("java.version"));
            LockClient client = context.getBean(LockClient.class);
            try (Lease lease = client.lock("orders/42").acquire()) {
                System.out.println("held, token " + lease.token());
                System.out.println(
                        "endpoint: " + context.getBean(LocksEndpoint.class).locks());
            }
            System.out.println(
                    "locked method, token " + context.getBean(Orders.class).ship(42));
            System.out.println("virtual " + onATask(context));
            System.out.println("health: " + health(context));
            client.close();
            System.out.println("closed health: " + health(context));
        }
    }

    /** Locks on a thread of the application's executor; returns whether that was a virtual one. */
    private static boolean onATask(ConfigurableApplicationContext context) throws Exception {
        Orders orders = context.getBean(Orders.class);
        return context.getBean("applicationTaskExecutor", AsyncTaskExecutor.class)
                .submit(() -> {
                    orders.ship(43);
                    return Runtime.version().feature() >= 21
                            && (boolean) Thread.class.getMethod("isVirtual").invoke(Thread.currentThread());
                })
                .get(20, TimeUnit.SECONDS);
    }

    private static String health(ConfigurableApplicationContext context) throws Exception {
        Object indicator = context.getBean("locksHealthIndicator");
        boolean boot4 = SpringBootVersion.getVersion().startsWith("4.");
        Class<?> type = Class.forName("org.springframework.boot."
                + (boot4 ? "health.contributor.HealthIndicator" : "actuate.health.HealthIndicator"));
        Object health =
                type.getMethod(boot4 ? "health" : "getHealth", boolean.class).invoke(indicator, true);
        return health.getClass().getMethod("getStatus").invoke(health) + " "
                + health.getClass().getMethod("getDetails").invoke(health);
    }

    @Bean
    Orders orders() {
        return new Orders();
    }

    /** A bean with a locked method. */
    public static class Orders {
        @Locked(name = "orders/#{#a0}", waitFor = "5s")
        public long ship(long id) {
            return CurrentLease.require().token();
        }
    }
}
