import { revalidateTag } from 'next/cache'

/** POST /revalidate-tag?tag=posts */
export async function POST(request) {
  const tag = new URL(request.url).searchParams.get('tag')
  revalidateTag(tag, { expire: 0 })
  return Response.json({ revalidated: tag })
}
