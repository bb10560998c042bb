export default defineEventHandler(() => ({ greeting: process.env.GREETING ?? 'Hello' }))
