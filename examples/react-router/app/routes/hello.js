export const loader = () => Response.json({ greeting: process.env.GREETING ?? 'Hello' })
