/** The query key of the session: the user who is logged in, or null. */
export const SESSION_KEY = ['session'] as const
