/**
 * Every script that a job of git may run. Callers name one of them; what varies is in its arguments, which it sees as $1 and so on.
 * So no text of a caller is ever read by a shell.
 */
import { INSIDE } from './work-folders.ts'

const options = (settings: readonly string[]): string => settings.map((setting) => `-c ${setting}`).join(' ')

/** Settings that no repository can change, as arguments of git. They bound its memory, and switch off what it would execute. */
const SETTINGS = [
  'safe.directory=*',
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.bigFileThreshold=16m',
  'core.packedGitWindowSize=16m',
  'core.packedGitLimit=128m',
  'core.deltaBaseCacheLimit=32m',
  'pack.threads=1',
  'pack.windowMemory=64m',
  'gc.auto=0',
  'maintenance.auto=false',
  'transfer.fsckObjects=true',
  'protocol.allow=never',
  'i18n.logOutputEncoding=UTF-8',
]

/** What may be pushed, and what is never done of its own accord. */
const SERVING = [
  'http.receivepack=true',
  'http.uploadpack=true',
  'http.getanyfile=false',
  'uploadpack.allowFilter=true',
  'receive.fsckObjects=true',
  'receive.fsck.zeroPaddedFilemode=ignore',
  'receive.fsck.badTimezone=ignore',
  'receive.fsck.missingSpaceBeforeDate=ignore',
  'receive.unpackLimit=1',
  'transfer.unpackLimit=1',
  'receive.autogc=false',
  'receive.advertisePushOptions=true',
  'receive.denyDeleteCurrent=ignore',
  'receive.denyCurrentBranch=ignore',
  'receive.updateServerInfo=false',
]

const FETCHING = `-c protocol.$1.allow=always -c http.followRedirects="$2" -c http.lowSpeedLimit=1000 -c http.lowSpeedTime=30 \\
  -c credential.helper= -c core.askPass=${INSIDE.folder}/askpass -c transfer.bundleURI=false -c fetch.recurseSubmodules=false`

/** Git with these settings. */
const RUN = `run() { git ${options(SETTINGS)} "$@"; }
`

/** Into the repository $1, with the objects of the quarantine $2 if that is not empty. */
const ENTER = `${RUN}cd "$1" && if [ -n "$2" ]; then
  export GIT_OBJECT_DIRECTORY="$1/objects/$2" GIT_ALTERNATE_OBJECT_DIRECTORIES="$1/objects"
fi && export GIT_DIR=. && `

export const SCRIPTS = {
  /** Answers a request: the folder of the repository, that of the hook, the body, and options. */
  serve: `${RUN}export GIT_PROJECT_ROOT="$1" HEADLAND_HOOKS="$2" && shift 2 && exec < "$1" && shift &&
run "$@" ${options(SERVING)} http-backend`,
  /** The kinds of the objects $3 and on. */
  kinds: `${ENTER} shift 2 && for object; do run cat-file -t "$object" || exit; done`,
  /** The author, subject and tree of the commit $3. */
  describe: `${ENTER} run log -1 --no-show-signature --format=%an%x00%s%x00 "$3" -- && run ls-tree -r -l -z --full-tree "$3"`,
  /** The tree of the commit $3 below the folder $4. */
  archive: `${ENTER} run archive --format=zip --prefix="$4/" "$3"`,
  /** The one pack of the folder $1: its name and its size in a line, then the pack, then its index. Nothing if there is none. */
  pack: `test -d "$1" || exit 0
cd "$1" && set -- pack-*.pack || exit
test -e "$1" || exit 0
test $# -eq 1 || { echo 'there is more than one pack' >&2; exit 1; }
echo "$1 $(stat -c %s "$1")" && exec cat "$1" "\${1%.pack}.idx"`,
  /** One pack in the place of all. */
  repack: `${RUN}cd "$1" && run repack -a -d -q --no-write-bitmap-index &&
mkdir kept && mv objects/pack/*.pack objects/pack/*.idx kept/`,
  /** The commit of the branch $4 at $3. */
  look: `${RUN}cd "${INSIDE.repository}" && GIT_DIR=. run ${FETCHING} ls-remote --heads -- "$3" "refs/heads/$4"`,
  /** That commit without those before it. */
  fetch: `${RUN}cd "${INSIDE.repository}" && export GIT_DIR=. && run ${FETCHING} fetch --quiet --depth 1 --no-tags \\
  --no-recurse-submodules --no-write-fetch-head --no-auto-maintenance -- "$3" "+refs/heads/$4:refs/heads/fetched" &&
  run rev-parse --verify refs/heads/fetched`,
  /** The keys of servers that ssh has learned. */
  hosts: `cat ${INSIDE.folder}/known_hosts`,
} as const

export type Script = keyof typeof SCRIPTS
