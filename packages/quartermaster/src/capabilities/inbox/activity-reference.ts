import { keepableText } from '../../contracts/index.ts'

/** How an agent says which message it means. */
export const ActivityReference = keepableText()
  .min(1)
  .max(128)
  .describe('The activity_id of a message from wait_for_message or inbox_peek.')
