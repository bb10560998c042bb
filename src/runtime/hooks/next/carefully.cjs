'use strict'
// Whatever goes wrong in these files is ours, and nothing that a page should fail for. It is said once.

let hasFailed = false

function say(line) {
  process.stderr.write(`headland: ${line}\n`)
}

/**
 * @template T
 * @param {() => T} act
 * @param {T} [otherwise]
 * @returns {T}
 */
function carefully(act, otherwise) {
  try {
    return act()
  } catch (error) {
    if (!hasFailed) say(`revalidations may not reach the edge: ${error}`)
    hasFailed = true
    return otherwise
  }
}

module.exports = { carefully, say, isUnderstood: () => !hasFailed }
