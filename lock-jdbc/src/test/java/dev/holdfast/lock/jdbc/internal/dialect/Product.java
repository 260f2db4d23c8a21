package dev.holdfast.lock.jdbc.internal.dialect;

/** The supported databases by name, for parameters and switches of tests. */
public enum Product {
    POSTGRESQL(DatabaseDialects.POSTGRESQL),
    MARIADB(DatabaseDialects.MARIADB),
    MYSQL(DatabaseDialects.MYSQL),
    H2(DatabaseDialects.H2);

    private final DatabaseDialect dialect;

    Product(DatabaseDialect dialect) {
        this.dialect = dialect;
    }

    public DatabaseDialect dialect() {
        return dialect;
    }

    public static Product of(DatabaseDialect dialect) {
        for (Product product : values()) {
            if (product.dialect == dialect) {
                return product;
            }
        }
        throw new IllegalArgumentException(dialect.title());
    }

    public static boolean isInnoDb(DatabaseDialect dialect) {
        return dialect instanceof InnoDbDialect;
    }
}
