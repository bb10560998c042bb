import { revalidatePath, revalidateTag } from 'next/cache'

/** POST /api/revalidate?tag=posts, ?path=/posts/one, or ?path=/posts/[slug]&type=page */
export async function POST(request) {
  const { searchParams } = new URL(request.url)
  const tag = searchParams.get('tag')
  const path = searchParams.get('path')
  // Without a lifetime for what is stale, it counts at once.
  if (tag !== null) revalidateTag(tag, { expire: 0 })
  if (path !== null) revalidatePath(path, searchParams.get('type') ?? undefined)
  return Response.json({ revalidated: tag ?? path })
}
