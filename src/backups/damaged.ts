/** The database is damaged or invalid. */
export class DatabaseDamaged extends Error {}
