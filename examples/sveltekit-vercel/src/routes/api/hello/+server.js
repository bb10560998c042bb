import { json } from '@sveltejs/kit'

export const GET = () => json({ greeting: process.env.GREETING ?? 'Hello' })
