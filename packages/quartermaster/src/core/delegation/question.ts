/** The question marks of all scripts that have one, and what may stand behind one. */
const ASKS = /[?\u037E\u055E\u061F\u203D\u2047-\u2049\uFE56\uFF1F][\s"'\u2019\u201D\u00BB)\]*_`\u300D\u300F\uFF09]*$/

/** Whether somebody who says this waits for an answer. */
export function isQuestion(text: string): boolean {
  return ASKS.test(text.slice(-100))
}
