/** Kept beside everything that the service tells of: who is logged in, or null for nobody. */
export const SESSION_KEY = ['session'] as const
