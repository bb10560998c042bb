/** Colours of code: comments, strings and prompts, in the few languages of our pages. What is not known stays plain. */
import { type Html, html } from '../src/api/docs/html.ts'

const HASH_COMMENT = '(?<comment>(?<=^|\\s)#.*$)'
const SLASH_COMMENT = '(?<comment>(?<![:\\w])//.*$)'
const STRING = '(?<string>"(?:[^"\\\\\\n]|\\\\.)*"|\'[^\'\\n]*\')'
const KEY = '(?<key>^\\s*(?:- )?[\\w.-]+(?=:)|"[^"\\n]*"(?=\\s*:))'

const MARKS: Record<string, string[]> = {
  sh: [HASH_COMMENT, STRING],
  yaml: [HASH_COMMENT, KEY, STRING],
  json: [KEY, STRING],
  js: [SLASH_COMMENT, STRING],
  php: [SLASH_COMMENT, STRING],
  ini: [HASH_COMMENT, '(?<key>^\\[.*\\]$)'],
  toml: [HASH_COMMENT, STRING, '(?<key>^\\[.*\\]$)'],
  nginx: [HASH_COMMENT, STRING],
  caddyfile: [HASH_COMMENT, STRING],
  crontab: [HASH_COMMENT],
  redirects: [HASH_COMMENT],
  headers: [HASH_COMMENT],
}

export function colour(language: string, text: string): Html {
  if (language === 'console') return session(text)
  const marks = MARKS[language]
  return marks === undefined ? html`${text}` : marked(text, new RegExp(marks.join('|'), 'gm'))
}

/** What is typed after a prompt, and what is printed. A prompt is not selected with its command. */
function session(text: string): Html {
  const lines = text.split('\n').map((line, index) => {
    const end = index === 0 ? '' : '\n'
    const [, prompt, typed] = /^([$#]) (.*)$/.exec(line) ?? []
    return prompt === undefined
      ? html`${end}<span class="printed">${line}</span>`
      : html`${end}<span class="prompt">${prompt} </span>${typed}`
  })
  return html`${lines}`
}

function marked(text: string, marks: RegExp): Html {
  const parts: Html[] = []
  let at = 0
  for (const match of text.matchAll(marks)) {
    const kind = Object.entries(match.groups ?? {}).find(([, found]) => found !== undefined)?.[0]
    parts.push(html`${text.slice(at, match.index)}<span class="${kind}">${match[0]}</span>`)
    at = match.index + match[0].length
  }
  return html`${parts}${text.slice(at)}`
}
