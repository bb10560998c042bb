/** The database is not one that the service could work with. */
export class DatabaseDamaged extends Error {}
