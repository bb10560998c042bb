/** POST /api/revalidate-page?path=/legacy */
export default async function handler(request, response) {
  await response.revalidate(request.query.path)
  response.json({ revalidated: request.query.path })
}
