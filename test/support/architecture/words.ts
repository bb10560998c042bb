/**
 * Words that this project used with a meaning of its own. Each has been replaced by the usual word of the field, and none may
 * come back: in names, comments, messages and the names of files.
 */
import type { Source } from './source.ts'

type Retired = { word: string; pattern: RegExp; instead: string }

/** Matches whole words, after `inWords` took names apart. */
const word = (text: string, instead: string): Retired => ({
  word: text,
  pattern: new RegExp(String.raw`\b(?:${text})\b`, 'i'),
  instead,
})

/** `buildLane` and `BUILD_LANE` as words, followed by the text as it is for patterns on whole names. */
const inWords = (text: string): string =>
  `${text.replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2').replaceAll('_', ' ')} ${text}`

export const RETIRED: readonly Retired[] = [
  // `quietSecondsMost` is the deprecated name of a field of the API.
  {
    word: '…Most',
    pattern: /\b(?!at|quietSecondsMost)[a-z][A-Za-z]*(?<!At)Most\b|\b[A-Z][A-Z0-9_]*_MOST\b/,
    instead: 'max…',
  },
  word('upkeep', 'garbage collection, retention'),
  word('workplace', 'workspace'),
  word('holdings', 'retention, references'),
  word('caged?|cages', 'cgroup'),
  word('farewell', 'stop options'),
  word('i?mpatience|patience', 'timeout'),
  word('shelf|shelves', 'partition, namespace, store'),
  word('rooms?', 'module; free space'),
  word('lanes?', 'queue; fast path'),
  word('floors|ground floor', 'layer'),
  word('house', 'architecture, service'),
  word('story|stories', 'progress'),
  word('hears?|heard', 'on…, listener'),
  word('said', 'config reader; sent, given'),
  word('open.door', 'raw endpoint'),
  word('nobody|somebody|anybody|whoever', 'the actor by name: caller, visitor, tenant, operator'),
  word('he|his|him', 'they, or the actor by name'),
]

/** Every retired word of these files, with its place and the word to use instead. */
export function retiredWords(sources: readonly Source[], retired: readonly Retired[] = RETIRED): string[] {
  return sources.flatMap(({ path, text }) => {
    const named = retired.filter(({ pattern }) => pattern.test(inWords(path)))
    const whole = inWords(text)
    const found = retired.filter(({ pattern }) => pattern.test(whole))
    // Most files have none, so their lines need not be looked at one by one.
    const lines = found.length > 0 ? text.split('\n') : []
    const inText = lines.flatMap((line, at) =>
      found
        .filter(({ pattern }) => pattern.test(inWords(line)))
        .map(({ instead }) => `${path}:${at + 1}: use "${instead}" in: ${line.trim()}`),
    )
    return [...named.map(({ instead }) => `${path}: use "${instead}" in the name of the file`), ...inText]
  })
}
