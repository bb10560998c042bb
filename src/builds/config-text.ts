/**
 * Settings out of a configuration file that is a program. It is not run to plan: what is written plainly is read, and
 * what is computed is not known. The text is whatever somebody uploaded, so every pattern takes linear time and no more is
 * read of it than a person would write.
 */

/** What is written after `name:` or `name =`, by the path of names that leads there: `build.outDir`. */
export type Settings = ReadonlyMap<string, string>

/** A string in one line, a template, or a comment; each ends with the line or the text if nobody ended it before. */
const STRING = /'(?:[^'\\\n]|\\[\s\S])*'?|"(?:[^"\\\n]|\\[\s\S])*"?|`(?:[^`\\]|\\[\s\S])*`?/
const COMMENT = /\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/
const STRING_OR_COMMENT = new RegExp(`${STRING.source}|${COMMENT.source}`, 'g')
const TOKEN = new RegExp(`${STRING.source}|[\\w$]+|\\.\\.\\.|\\S`, 'g')
const SETS = /\s*(?::|=(?![=>]))\s*/y
const TEXT_LENGTH = 100_000
const EXPRESSION_LENGTH = 200
/** Names further inside than this are left out of paths, which would else grow with every bracket. */
const DEEPEST = 10

/** One open bracket: the path of names that leads into it, and the name whose value is being written. */
type Level = { path: string; isObject: boolean; key: string }

/** The first of several settings with the same path counts. */
export function settingsIn(text: string): Settings {
  const code = text
    .slice(0, TEXT_LENGTH)
    .replaceAll(STRING_OR_COMMENT, (found) => (/^\/[/*]/.test(found) ? ' ' : found))
  const settings = new Map<string, string>()
  const levels: Level[] = []
  let level: Level = { path: '', isObject: false, key: '' }
  let beginsEntry = false

  for (const { 0: token, index } of code.matchAll(TOKEN)) {
    const wasBeginning: boolean = beginsEntry
    beginsEntry = false
    if (token === '{' || token === '(' || token === '[') {
      levels.push(level)
      const path = levels.length > DEEPEST ? level.path : join(level.path, level.key)
      level = { path, isObject: token === '{', key: '' }
      beginsEntry = level.isObject
    } else if (token === '}' || token === ')' || token === ']') {
      level = levels.pop() ?? level
    } else if (token === ',' || token === ';' || token === 'return') {
      level.key = ''
      beginsEntry = level.isObject && token === ','
    } else if (token === 'async') {
      beginsEntry = wasBeginning
    } else {
      const name = token.replaceAll(/^['"]|['"]$/g, '')
      const follows = settingAt(code, index + token.length)
      if (follows !== undefined && !settings.has(join(level.path, name)))
        settings.set(join(level.path, name), code.slice(follows.from, follows.from + EXPRESSION_LENGTH).trim())
      // A name at the beginning of an entry leads into what it holds: an object, a list, a function or a method. What a
      // spread brings is under a condition more often than not.
      if (wasBeginning && (token === '...' || follows?.mark === ':' || code[index + token.length] === '('))
        level.key = name
    }
  }
  return settings
}

/** The value of a setting that is one plain string and nothing else. */
export function stringIn(settings: Settings, path: string): string | undefined {
  const found = /^(?:'([^'\\]*)'|"([^"\\]*)"|`([^`\\$]*)`)\s*(?:as const\s*)?(?:$|[\n,;}\])])/.exec(
    settings.get(path) ?? '',
  )
  return found?.[1] ?? found?.[2] ?? found?.[3]
}

const join = (path: string, name: string): string => (path === '' || name === '' ? path + name : `${path}.${name}`)

function settingAt(code: string, at: number): { mark: string; from: number } | undefined {
  SETS.lastIndex = at
  const [found] = SETS.exec(code) ?? []
  return found === undefined ? undefined : { mark: found.trim(), from: at + found.length }
}
