import { cookies, draftMode } from 'next/headers'
import { readDraft } from '../../wordpress.js'

/** Where "Preview" in WordPress leads. The cookies that it sets go past every cache, and end with the browser. */
export async function GET(request) {
  const { searchParams } = new URL(request.url)
  const secret = process.env.PREVIEW_SECRET
  if (!secret || searchParams.get('secret') !== secret) return new Response(null, { status: 401 })
  const { id, slug } = await readDraft(searchParams.get('id'))
  ;(await draftMode()).enable()
  ;(await cookies()).set('preview', String(id), { httpOnly: true, path: '/' })
  return new Response(null, { status: 307, headers: { location: `/posts/${slug || id}` } })
}
