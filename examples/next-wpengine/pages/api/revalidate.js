/** POST /api/revalidate?path=/posts/one */
export default async function handler(request, response) {
  await response.revalidate(request.query.path)
  response.json({ revalidated: request.query.path })
}
