/**
 * The path without slashes at its end. The pattern `\/+$` takes quadratic time for many slashes before another character, and
 * paths come from callers.
 */
export function withoutTrailingSlashes(path: string): string {
  let end = path.length
  while (path[end - 1] === '/') end--
  return path.slice(0, end)
}
