import { onTestFinished } from 'vitest'
import type { Script, ScriptedModel } from '../support/script.ts'
import { startScriptedMessages } from '../support/scripted-messages.ts'
import { claudeWorkplace } from './claude-code.ts'
import type { Workplace } from './workplace.ts'

/** A place for one test where `claude` is a command, with a model that does what is written here. */
export async function scriptedClaude(script: Script): Promise<{ workplace: Workplace; model: ScriptedModel }> {
  const model = await startScriptedMessages(script)
  const workplace = await claudeWorkplace(model.url)
  onTestFinished(async () => {
    await model.stop()
    await workplace.clear()
  })
  return { workplace, model }
}
