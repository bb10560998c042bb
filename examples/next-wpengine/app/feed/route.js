import { unstable_cache } from 'next/cache'
import content from '../../content.js'

export const dynamic = 'force-static'
export const revalidate = 3600

const read = unstable_cache(async () => content.text, ['content'], { tags: ['posts'] })

export const GET = async () => new Response(`The feed says ${await read()}`)
