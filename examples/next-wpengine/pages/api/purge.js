import { purgePaths, purgeTags } from '@wpengine/edge-cache'

/** POST /api/purge?path=/latest or ?tag=latest */
export default async function handler(request, response) {
  const { path, tag } = request.query
  if (path !== undefined) await purgePaths([path].flat())
  if (tag !== undefined) await purgeTags([tag].flat())
  response.json({ purged: path ?? tag })
}
