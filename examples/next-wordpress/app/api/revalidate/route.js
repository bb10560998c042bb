import { revalidateTag } from 'next/cache'

/** WordPress calls this when something is published. The answer comes when no visitor can get an old page any more. */
export async function POST(request) {
  const secret = process.env.REVALIDATE_SECRET
  if (!secret || new URL(request.url).searchParams.get('secret') !== secret) return new Response(null, { status: 401 })
  revalidateTag('wordpress', { expire: 0 })
  return Response.json({ revalidated: true })
}
