import { rm } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { createEffectKinds } from '../../adapters/effects/index.ts'
import { concreteEffects, takeBaseline, verifyEffects } from '../../core/operations/index.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { notesFixture } from '../../testing/notes-fixture.ts'
import { NotesSettings, toNotesConfig } from './config.ts'
import { TASK_EFFECTS } from './task-create.ts'

it('proves a task by its note and its line, and makes only what is missing of them', async () => {
  const desk = await notesFixture({ files: { 'vault/Tasks.md': '# Mine\r\n- [ ] [[Tasks/Other]]\r\n' } })
  const kinds = createEffectKinds({ projectDir: desk.project.dir, connections: { get: () => undefined } })
  const config = toNotesConfig(NotesSettings.parse({ vault: './vault' }), desk.project.dir)
  const input = { title: 'Übung {1}', tags: ['home'] }
  const options = { clock: createFakeClock() }
  const effects = concreteEffects(TASK_EFFECTS, { input, config, operationId: 'op_9' }, kinds)
  const kept = await takeBaseline(effects, kinds, options)
  const verdict = () => verifyEffects(kept, kinds, options)
  expect(await verdict()).toMatchObject({ verdict: 'absent' })

  await desk.create(input, { operationId: 'op_9' })
  expect(await verdict()).toMatchObject({ verdict: 'verified' })

  await desk.project.write('vault/Tasks.md', '# Mine\r\n- [ ] [[Tasks/Other]]\r\n')
  const partial = await verdict()
  expect(partial).toMatchObject({
    verdict: 'partial',
    effects: [{ state: 'verified' }, { name: 'line', state: 'absent' }],
  })
  await desk.create(input, { operationId: 'op_9', missingEffects: [TASK_EFFECTS[1]] })
  expect(await verdict()).toMatchObject({ verdict: 'verified' })
  expect(await desk.note('Tasks.md')).toBe('# Mine\r\n- [ ] [[Tasks/Other]]\r\n- [ ] [[Tasks/Übung {1}]] #home\r\n')

  await rm(desk.project.path('vault/Tasks/Übung {1}.md'))
  await desk.create(input, { operationId: 'op_9', missingEffects: [TASK_EFFECTS[0]] })
  expect(await verdict()).toMatchObject({ verdict: 'verified' })
})

it('tells a new line from one of a task that was done', async () => {
  const desk = await notesFixture({ files: { 'vault/Tasks.md': '- [x] [[Tasks/Water]] ✅ 2026-10-01\n' } })
  const kinds = createEffectKinds({ projectDir: desk.project.dir, connections: { get: () => undefined } })
  const config = toNotesConfig(NotesSettings.parse({ vault: './vault' }), desk.project.dir)
  const options = { clock: createFakeClock() }
  const input = { title: 'Water' }
  const effects = concreteEffects(TASK_EFFECTS, { input, config, operationId: 'op_9' }, kinds)
  const kept = await takeBaseline(effects, kinds, options)
  expect(await verifyEffects(kept, kinds, options)).toMatchObject({ verdict: 'absent' })
  await desk.create(input, { operationId: 'op_9', missingEffects: [TASK_EFFECTS[0]] })
  expect(await verifyEffects(kept, kinds, options)).toMatchObject({ verdict: 'partial' })
  await desk.create(input, { operationId: 'op_9', missingEffects: [TASK_EFFECTS[1]] })
  expect(await verifyEffects(kept, kinds, options)).toMatchObject({ verdict: 'verified' })
})
