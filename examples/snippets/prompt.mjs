// @ts-check
import { createQuartermaster } from 'quartermaster'
import { renderPrompt } from 'quartermaster/prompt'

const quartermaster = await createQuartermaster()
try {
  // Behind a running `up` this is `await openToolbox({ url, token })`. All else is the same.
  const toolbox = quartermaster.toolbox('default')
  const { text, estimatedTokens } = await renderPrompt(toolbox, { withoutDisabled: true })
  console.log(`${text}\nabout ${estimatedTokens} tokens`)
} finally {
  await quartermaster.stop()
}
