export { createEffectKinds, type EffectKindsOptions } from './effect-kinds.ts'
