/** `TypeError: …`, `ModuleNotFoundError: …`, `Error [ERR_X]: …`: the last line of a program's death is often its version. */
const ERROR_LINE = /^\s*(?:Uncaught )?[\w.]*(?:Error|Exception)\b[^:]{0,40}: /
/** npm says first what is wrong, and then much else. */
const NPM_LINE = /^npm (?:error|ERR!) \d{3} /
/** What people write where something went wrong; a hint how to get help often follows. */
const TROUBLE = /\b(?:error|fatal|panic|cannot|can't|could not|couldn't|not found|no such|denied)\b/i
/** Where in the code it was. It may name a file or a function after an error, and is none. */
const STACK_LINE = /^\s+at\s|^\s*File ".*", line \d+/
const WORD = /[\p{L}\p{N}]/u

/** Of the last lines of a program the one that most likely says why it ended. */
export function reasonIn(lines: readonly string[]): string | undefined {
  const telling = lines.filter(line => WORD.test(line) && !STACK_LINE.test(line))
  return (
    telling.findLast(line => ERROR_LINE.test(line)) ??
    telling.find(line => NPM_LINE.test(line)) ??
    telling.findLast(line => TROUBLE.test(line)) ??
    telling.at(-1)
  )
}
