export const GET = () => Response.json({ greeting: process.env.GREETING ?? 'Hello' })
