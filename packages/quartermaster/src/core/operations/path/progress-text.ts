import type { Progress } from '../../../contracts/index.ts'

/** How far a call has come, in words: its own, or its numbers. */
export function progressText({ progress, total, message }: Progress): string {
  return message ?? (total === undefined ? `${progress}` : `${progress} of ${total}`)
}
