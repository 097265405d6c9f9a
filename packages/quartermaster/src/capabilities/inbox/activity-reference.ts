import { z } from 'zod'
import { isKeepable } from '../../contracts/index.ts'
import { quotedLine } from '../shared/message-words.ts'

const LONGEST = 128
const SHOWN = 40
const WHERE_FROM = 'Take the activity_id of a message from wait_for_message or inbox_peek.'

/** How an agent says which message it means. What cannot be one is named, so that the agent sees what it has sent. */
export const ActivityReference = z
  .string()
  .min(1, { error: `must not be empty: there is no message "". ${WHERE_FROM}` })
  .max(LONGEST, {
    error: ({ input }) =>
      `must be ${LONGEST} characters at most: there is no message ${quotedLine(`${String(input).slice(0, SHOWN)}…`)}. ${WHERE_FROM}`,
  })
  .refine(isKeepable, { error: `must be well-formed text without NUL. ${WHERE_FROM}` })
  .describe('The activity_id of a message from wait_for_message or inbox_peek.')
