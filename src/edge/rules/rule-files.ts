/** The files that have rules, in the order of their precedence. */
export const RULE_FILES = ['_redirects', '_headers', 'netlify.toml', 'vercel.json'] as const

export type RuleFile = (typeof RULE_FILES)[number]
