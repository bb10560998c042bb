export const load = () => ({ greeting: process.env.GREETING ?? 'Hello' })
