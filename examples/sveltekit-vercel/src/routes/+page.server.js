export const config = { isr: { expiration: 60 } }

export const load = () => ({ greeting: process.env.GREETING ?? 'Hello' })
