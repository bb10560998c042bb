/** Finds the rules whose path matches, in their order: those for one path by its name, the others one after the other. */
import { type Captures, exactName, matchPattern, type RequestPath } from './path.ts'
import type { Pattern } from './rules.ts'

type Indexed<Rule> = { number: number; rule: Rule; pattern: Pattern }

type Found<Rule> = { rule: Rule; captures: Captures }

export function createRuleIndex<Rule extends { slash?: boolean }>(
  rules: readonly Rule[],
  patternOf: (rule: Rule) => Pattern,
) {
  const exact = new Map<string, Indexed<Rule>[]>()
  const patterns: Indexed<Rule>[] = []
  for (const [number, rule] of rules.entries()) {
    const pattern = patternOf(rule)
    const indexed = { number, rule, pattern }
    const named = typeof pattern === 'string' ? (exact.get(pattern) ?? []) : patterns
    named.push(indexed)
    if (typeof pattern === 'string') exact.set(pattern, named)
  }

  function* matching(some: Iterable<Indexed<Rule>>, path: RequestPath): Generator<Found<Rule>> {
    for (const { rule, pattern } of some) {
      const captures = matchPattern(pattern, path, rule.slash)
      if (captures) yield { rule, captures }
    }
  }

  return {
    matching: (path: RequestPath): Generator<Found<Rule>> =>
      matching(inOrder(exact.get(exactName(path)) ?? [], patterns), path),
  }
}

/** Merges two lists that are in order already. */
function* inOrder<Rule>(one: readonly Indexed<Rule>[], other: readonly Indexed<Rule>[]): Generator<Indexed<Rule>> {
  let at = 0
  for (const next of other) {
    for (let before = one[at]; before && before.number < next.number; before = one[++at]) yield before
    yield next
  }
  yield* one.slice(at)
}
