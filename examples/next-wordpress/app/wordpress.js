/** What the pages ask of WordPress. Every answer is kept until a purge or a revalidation of the tag `wordpress`. */
const API = `${process.env.WORDPRESS_URL}/wp-json/wp/v2`
const FIELDS = '_fields=id,slug,modified_gmt,title,content,_links,_embedded&_embed=wp:featuredmedia'

/** A failed request is an error: pages that are live stay as they are, and a build fails instead of leaving pages out. */
async function ask(path, options) {
  const response = await fetch(API + path, options)
  if (!response.ok) throw new Error(`WordPress answered ${response.status} to ${path}`)
  return response.json()
}

/** Made for each request: Next.js takes `next` out of the object that it is given. */
const kept = () => ({ cache: 'force-cache', next: { tags: ['wordpress'] } })

export const readPosts = () => ask(`/posts?per_page=20&${FIELDS}`, kept())

export async function readPost(slug) {
  const [post] = await ask(`/posts?slug=${encodeURIComponent(slug)}&${FIELDS}`, kept())
  return post
}

/** As the editor sees it: a draft, or a published post with changes that only the editor has saved. */
export async function readDraft(id) {
  const editor = `${process.env.WORDPRESS_USER}:${process.env.WORDPRESS_APPLICATION_PASSWORD}`
  const options = { cache: 'no-store', headers: { authorization: `Basic ${btoa(editor)}` } }
  const post = await ask(`/posts/${Number(id)}?context=edit&${FIELDS}`, options)
  const autosaves = await ask(`/posts/${Number(id)}/autosaves?context=edit&${FIELDS}`, options)
  return [post, ...autosaves].sort((a, b) => (a.modified_gmt < b.modified_gmt ? 1 : -1))[0]
}

export function coverOf(post) {
  const [media] = post._embedded?.['wp:featuredmedia'] ?? []
  return media?.source_url && { src: media.source_url, alt: media.alt_text, ...sizeOf(media.media_details) }
}

const sizeOf = ({ width, height }) => ({ width, height })
